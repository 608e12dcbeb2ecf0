"""The named tables that read and update boxes work on, kept in a database while a run goes on."""
