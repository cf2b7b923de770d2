"""The debugger: scripted sessions of the prompt and of the Debug Adapter Protocol."""
