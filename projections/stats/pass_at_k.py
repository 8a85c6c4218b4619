"""How often k attempts all pass (pass^k), and how often at least one does (pass@k), estimated from n attempts.

From n attempts with c passes, the share of subsets of k attempts that all pass is C(c, k) / C(n, k), and of those with
at least one pass 1 - C(n - c, k) / C(n, k). Both are unbiased if attempts do not depend on each other. Powers of the
pass rate are not: for c of n = 2 of 4, (1/2)² is .25, and pass^2 is 1/6.

Source: Chen et al., arXiv 2107.03374 (pass@k); Yao et al., arXiv 2406.12045 (pass^k).
"""

from math import comb


def all_pass(attempts: int, passed: int, k: int) -> float | None:
    """Return pass^k; None if there are fewer than k attempts. k > 0."""
    return comb(passed, k) / comb(attempts, k) if attempts >= k else None


def any_passes(attempts: int, passed: int, k: int) -> float | None:
    """Return pass@k; None if there are fewer than k attempts. k > 0."""
    return 1 - comb(attempts - passed, k) / comb(attempts, k) if attempts >= k else None
