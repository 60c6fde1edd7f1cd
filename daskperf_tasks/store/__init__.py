"""The ledger: key layout, stores on a disk and on S3, manifests, read-back verification."""
