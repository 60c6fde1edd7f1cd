"""What a person reads: notes, the HTML report, the message, the terminal summary."""
