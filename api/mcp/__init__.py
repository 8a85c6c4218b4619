"""The MCP interface: tools, resources and prompts for agents. Only `sdk_server` and `stdio` import the SDK."""
