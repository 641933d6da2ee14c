// BLEU and chrF by counting each n-gram where it stands, without a table: slow, and written from the papers' formulas alone.
#pragma once

#include <string>
#include <vector>

namespace attend::reference {

using Sentence = std::vector<std::string>;

// Corpus BLEU without smoothing, in percent (Papineni 2002): references[i] are those of hypotheses[i].
double bleu(const std::vector<Sentence>& hypotheses, const std::vector<std::vector<Sentence>>& references, int order = 4);

// Corpus chrF over texts of one-byte characters without white space, in percent (Popović 2015), one reference each.
double chrf(const std::vector<std::string>& hypotheses, const std::vector<std::string>& references, int order = 6, double beta = 2);

}  // namespace attend::reference
