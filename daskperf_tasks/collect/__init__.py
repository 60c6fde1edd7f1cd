"""Task streams, fine metrics, fingerprints, host load: what is kept beside the times."""
