"""Routes about who takes part: inviting sites, letting them in and shutting them out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from tradewind.web.answers import answer, keep_private
from tradewind.web.asked import AtDesk, Invitation, Joining, NameInPath
from tradewind.web.shapes import Anything, TokenShape

router = APIRouter(tags=["sites"])
# Who is not in yet has no secret: the authority's certificate is public, and joining needs a token.
public = APIRouter(tags=["sites"])
_PEM = "application/x-pem-file"


@router.post("/tokens", summary="Invite a site", responses={200: {"model": TokenShape}})
def invite(asked: Invitation, desk: AtDesk) -> Response:
    return answer({"token": desk.token(asked.site, asked.seconds, asked.hosts)})


@router.post("/sites/{name}/revoke", summary="Shut a site out", responses={200: {"model": Anything}})
def revoke(name: NameInPath, desk: AtDesk) -> Response:
    return answer(desk.revoke(name))


@public.get(
    "/ca",
    summary="The certificate that sites trust, as PEM",
    response_class=Response,
    responses={200: {"content": {_PEM: {"schema": {"type": "string"}}}}},
)
def ca(desk: AtDesk) -> Response:
    return Response(desk.ca(), media_type=_PEM)


@public.post("/join", summary="Join with a token that holds once", responses={200: {"model": Anything}})
def join(asked: Joining, request: Request, desk: AtDesk) -> Response:
    keep_private(request, asked.token)
    return answer(desk.join(asked.token, asked.csr))
