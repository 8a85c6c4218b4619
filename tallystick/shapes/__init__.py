"""The answers of Tallystick as structs, which the server makes and the client returns.

Every struct is frozen. Fields that a newer server adds are ignored. Nothing here needs more than msgspec.
"""
