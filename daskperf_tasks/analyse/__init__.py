"""From raw results to summaries, comparisons, diagnosis and recommendations; pure."""
