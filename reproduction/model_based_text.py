"""What the page says of Table 1 of the paper on model-based hybrid data."""

from __future__ import annotations

HEAD = """\
## Hybrid microdata via model-based clustering (2012)

Section 4 masks Diabetes (glucose, insulin, sspg) and three variables of Census (AGI, EMCONTRB, FEDTAX) by five
methods, 30 times each, and compares propensity scores: pMSE, equation (9), of a logistic regression with main
effects, products and squares; less is better.

- Hybrid, `model_hybrid`: the mixture by BIC, plain draws, as the published figures seem to be.
- HybridMicro, `hybrid_micro`: k = 48 and 120, plain draws.
- Synthetic, `sequential`; Noise, `noise` with c = 0.15, moments in expectation.
- Micro, `mdav` with means: k = 5 and 10, once.

*Times the null* is the value divided by what is expected of records drawn from the very distribution of the
original, p / (8 N). *Cubic* has all products of three variables as well.
"""

WHY = """\
Why they differ: the paper does not give the unit of its figures. With 290 and 2,160 rows of both files together
the null x 1000 is 3.9 for Diabetes and 0.52 for Census, but the printed Hybrid is about the same on both, so the
units have to differ. If they are 1/1000 for Diabetes and 1/10,000 for Census, Hybrid is 0.94 times the figure in
print on both. Nothing makes all of a row agree: HybridMicro keeps the moments of its groups as Hybrid does and
scores like it with these terms, and Noise as in equation (8) keeps means and covariances in expectation and every
record near its original, so it is below the null.

What the paper concludes: on both files the hybrid methods are better than Synthetic, and this is better than
Micro. That is reproduced. That Hybrid is better than HybridMicro cannot be seen with these terms. Both draw with
the means and covariances of groups and are near the null, or below it since groups fix more than a sample would;
with exact moments both score 0 by construction. With cubic terms Hybrid is better on Diabetes by far; on Census
the difference is about its standard error, and with exact moments HybridMicro is a little better. With these
terms Micro is not better than Hybrid either, but better than Synthetic. The remark that HybridMicro with twice as
many groups is still worse than Hybrid is not reproduced: with *half of k* it is better than Hybrid here, whatever
the terms.
"""
