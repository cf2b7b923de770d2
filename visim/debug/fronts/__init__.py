"""How people and programs talk to a session: a prompt, scripts, the Debug Adapter Protocol."""
