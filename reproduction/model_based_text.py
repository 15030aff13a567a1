"""What the page says of Table 1 of the paper on model-based hybrid data."""

from __future__ import annotations

HEAD = """\
## Hybrid microdata via model-based clustering (2012)

Section 4 masks Diabetes (glucose, insulin, sspg) and three variables of Census (AGI, EMCONTRB, FEDTAX) by five
methods, 30 times each. It compares propensity scores: pMSE, equation (9), of a logistic regression with main effects,
products and squares. Lower is better.

- Hybrid, `model_hybrid`: the mixture by BIC, plain draws, as the published figures seem to be.
- HybridMicro, `hybrid_micro`: k = 48 and 120, plain draws.
- Synthetic, `sequential`; Noise, `noise` with c = 0.15, moments in expectation.
- Micro, `mdav` with means: k = 5 and 10, once.

*Times the null* divides the value by p / (8 N), the value expected of records drawn from the distribution of the
original. *Cubic* adds all products of three variables.
"""

WHY = """\
The paper does not give the unit of its figures. With 290 and 2,160 rows in both files together, the null x 1000 is
3.9 for Diabetes and 0.52 for Census. The printed Hybrid is about the same on both, so the units must differ. With
1/1000 for Diabetes and 1/10,000 for Census, Hybrid is 0.94 times the printed figure on both.

No unit makes a whole row agree. HybridMicro keeps the moments of its groups as Hybrid does, and scores like it with
these terms. Noise as in equation (8) keeps means and covariances in expectation and every record near its original,
so it scores below the null.

What the paper concludes:

- *The hybrid methods beat Synthetic on both files, and Synthetic beats Micro.* Reproduced with
  the terms of the paper. With cubic terms Micro beats Synthetic, but not Hybrid.
- *Hybrid beats HybridMicro.* The terms of the paper cannot show it: both methods are near the null or below it, and
  with exact moments both score 0 by construction. With cubic terms Hybrid is far better on Diabetes. On Census the
  difference is about its standard error, and with exact moments HybridMicro is a little better.
- *HybridMicro with twice as many groups is still worse than Hybrid.* Not reproduced: with *half of k* it is better
  than Hybrid, whatever the terms.
"""
