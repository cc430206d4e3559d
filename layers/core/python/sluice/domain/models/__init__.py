"""The shapes of what may be published to the topic: a module a kind."""
