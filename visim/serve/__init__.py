"""The oracle: verdicts on kernels for programs that write them, over HTTP and MCP.

Tools are declared once (`visim.serve.tools`); `visim.serve.oracle` answers with them, and each
answer is made in a process of its own that has little and may little (`visim.serve.hosts`).
"""
