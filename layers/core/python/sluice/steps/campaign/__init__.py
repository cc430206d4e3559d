"""Campaign: what is published about people: campaigns with their audiences, and suppressions."""
