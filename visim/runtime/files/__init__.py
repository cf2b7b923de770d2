"""Arguments and results in texts and files: `--arg` and launch.toml, PNG, pictures in terminals."""
