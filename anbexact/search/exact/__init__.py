"""Exact searches, which prove what they find, and the verification of proofs."""
