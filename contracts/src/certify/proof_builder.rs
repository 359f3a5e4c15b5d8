//! Collects derived facts, and emits the steps that a proof needs.

use roofline_checker::{Case, Fact, Rule, Step};

use crate::graph::IdMap;

/// The number of a derived fact.
pub(super) type FactId = usize;

struct DerivedFact {
    fact: Fact,
    /// None for an assumption.
    rule: Option<Rule>,
    from: Vec<FactId>,
    cases: Vec<Branch>,
}

/// A case: its assumptions, its steps and its last step.
pub(super) struct Branch {
    pub assume: Vec<FactId>,
    pub steps: Vec<FactId>,
    pub end: FactId,
}

/// All facts, and the open lists of steps, outermost first.
#[derive(Default)]
pub(super) struct ProofBuilder {
    found: Vec<DerivedFact>,
    open: Vec<Vec<FactId>>,
}

impl ProofBuilder {
    pub fn fact(&self, known: FactId) -> Fact {
        self.found[known].fact
    }

    pub fn assume(&mut self, fact: Fact) -> FactId {
        self.found.push(DerivedFact { fact, rule: None, from: Vec::new(), cases: Vec::new() });
        self.found.len() - 1
    }

    pub fn step(&mut self, rule: Rule, from: Vec<FactId>, fact: Fact, cases: Vec<Branch>) -> FactId {
        self.found.push(DerivedFact { fact, rule: Some(rule), from, cases });
        let known = self.found.len() - 1;
        if let Some(steps) = self.open.last_mut() {
            steps.push(known);
        }
        known
    }

    pub fn open(&mut self) {
        self.open.push(Vec::new());
    }

    pub fn close(&mut self) -> Vec<FactId> {
        self.open.pop().unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Removes this fact and all later ones.
    pub fn forget(&mut self, from: FactId) {
        self.found.truncate(from);
    }

    /// Marks the facts on which these depend.
    pub fn needed(&self, roots: &[FactId], needed: &mut Vec<bool>) {
        needed.resize(self.found.len().max(needed.len()), false);
        let mut pending = roots.to_vec();
        while let Some(known) = pending.pop() {
            if !std::mem::replace(&mut needed[known], true) {
                let found = &self.found[known];
                pending.extend(&found.from);
                pending.extend(found.cases.iter().map(|case| case.end));
            }
        }
    }

    /// The needed steps of a list, numbered from `next`; `place` has the numbers of earlier facts.
    pub fn emit_steps(
        &self,
        steps: &[FactId],
        needed: &[bool],
        place: &mut IdMap<FactId, usize>,
        mut next: usize,
    ) -> Vec<Step> {
        let mut written = Vec::new();
        for &known in steps.iter().filter(|&&known| needed[known]) {
            let found = &self.found[known];
            let Some(rule) = found.rule else { continue };
            let mut cases = Vec::new();
            for case in &found.cases {
                place.extend(case.assume.iter().enumerate().map(|(i, &fact)| (fact, next + i)));
                let steps = self.emit_steps(&case.steps, needed, place, next + case.assume.len());
                cases.push(Case { assume: case.assume.iter().map(|&fact| self.fact(fact)).collect(), steps });
            }
            // A fact without a number belongs to another case; the checker rejects its number.
            let from =
                found.from.iter().map(|known| place.get(known).copied().unwrap_or(usize::MAX)).collect();
            written.push(Step { rule, from, gives: found.fact, cases });
            place.insert(known, next);
            next += 1;
        }
        written
    }
}
