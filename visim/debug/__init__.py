"""The debugger: it stops kernels anywhere, shows what they hold, and goes back.

`engine` runs the interpreter an instruction at a time and returns to any moment of a launch;
`places`, `looking` and `slicing` are what a user asks for; `session` puts them together; `fronts`
are the prompt, scripts and the Debug Adapter Protocol. A launch that is not debugged loads nothing
of it.
"""
