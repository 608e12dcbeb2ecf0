"""Trust: who is who among the sites, and which plans are the coordinator's own. Only this room imports cryptography.

In: names of sites, one-time tokens, requests for certificates, plans as bytes. Out: certificates and TLS settings by
which a site and the coordinator know each other, signatures that any site can check, and who is cut off. Does not: open
connections, or know what a plan says.
"""
