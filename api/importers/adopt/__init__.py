"""Read what people have already, such as git repositories: what agents did there, and what the outcomes are."""
