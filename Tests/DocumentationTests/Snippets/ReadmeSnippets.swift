// The samples of README.md. `SnippetTests` compares them.
