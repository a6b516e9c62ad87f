"""What a worker tells the engine of its work besides its answers: log lines, spans of its own, how its process is."""
