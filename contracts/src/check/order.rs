//! The evaluation order: each equation follows those it uses.

use crate::contract::Operand;
use crate::report::{Diagnostic, Report, Rule};

use super::unchecked::UncheckedContract;

impl UncheckedContract {
    /// Returns an order in which each equation follows those it uses; a cycle is reported as a path.
    pub fn order(&self, report: &mut Report) -> Vec<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let uses: Vec<Vec<usize>> = (self.equations.iter())
            .map(|equation| {
                let operands = self.operands(None, [&equation.statement.formula]);
                let equation = |(_, operand)| match operand {
                    Operand::Equation(index) => Some(index),
                    Operand::Quantity(_) => None,
                };
                operands.into_iter().filter_map(equation).collect()
            })
            .collect();
        let mut state = vec![State::New; uses.len()];
        let mut order = Vec::new();
        for first in 0..uses.len() {
            if state[first] != State::New {
                continue;
            }
            // Each entry is an equation and the number of its uses that were visited.
            let mut path = vec![(first, 0)];
            state[first] = State::Open;
            while let Some((at, done)) = path.last_mut() {
                let Some(&next) = uses[*at].get(*done) else {
                    state[*at] = State::Done;
                    order.push(*at);
                    path.pop();
                    continue;
                };
                *done += 1;
                match state[next] {
                    State::New => {
                        state[next] = State::Open;
                        path.push((next, 0));
                    }
                    State::Open => {
                        let start = path.iter().position(|(at, _)| *at == next).unwrap_or(0);
                        let names: Vec<&str> = path[start..]
                            .iter()
                            .map(|(at, _)| *at)
                            .chain([next])
                            .map(|at| self.equations[at].name.as_str())
                            .collect();
                        let message = format!("cyclic equations: {}", names.join(" -> "));
                        report.add(
                            Diagnostic::error(self.equations[next].span, message)
                                .rule(Rule::Formula)
                                .note("remove one of these uses to break the cycle"),
                        );
                    }
                    State::Done => {}
                }
            }
        }
        order
    }
}
