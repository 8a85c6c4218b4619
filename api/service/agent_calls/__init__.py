"""What agents ask and record about decisions: one function a call, with the answers of CSTP.

CSTP's methods and MCP's tools decode their parameters into the same structs, and call these functions.
"""
