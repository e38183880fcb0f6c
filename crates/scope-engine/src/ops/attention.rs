//! Self-attention over all tokens.

use crate::{
    device::kernel,
    error::EngineError,
    ops::add,
    tape::{Flow, Record, Tape, Var},
    tensor::Tensor,
};

struct AttentionRecord {
    heads: usize,
    qkv: Var,
    /// Its own value \[batch, tokens, width\].
    out: Tensor,
    /// log sum exp of each row of scores \[batch, heads, tokens\].
    log_sums: Tensor,
}

impl Tape<'_> {
    /// o = softmax(q k^T / sqrt d) v for each head of size d = width / heads.
    ///
    /// # Shapes
    /// qkv \[batch, tokens, 3 width\], the queries of all heads first, then keys, then values, heads contiguous
    /// in each; o \[batch, tokens, width\].
    pub fn attention(&self, qkv: &Var, heads: usize) -> Result<Var, EngineError> {
        let shape = match *qkv.shape() {
            // Pairs of bf16 need an even head size.
            [batch, tokens, width] if width.is_multiple_of(6 * heads.max(1)) => [batch, tokens, width / 3],
            _ => {
                return Err(EngineError::shape(
                    "attention",
                    "qkv",
                    format!("[batch, tokens, 3 x {heads} heads x even size]"),
                    qkv.shape(),
                ));
            }
        };
        let qkv = add::converted(self, qkv)?;
        let (out, log_sums) = kernel!(self.device(), attention::forward(qkv.value(), heads, shape))?;
        let record = AttentionRecord { heads, qkv: qkv.clone(), out: out.clone(), log_sums };
        Ok(self.push(out, qkv.node().is_some(), || Box::new(record)))
    }
}

/// With P the softmax, s = 1 / sqrt d and D = rowsum(do o):
/// dv = P^T do, dS = P (do v^T - D), dq = s dS k, dk = s dS^T q.
impl Record for AttentionRecord {
    fn backward(&self, gradient: Tensor, flow: &mut Flow<'_>) -> Result<(), EngineError> {
        let saved = [self.qkv.value(), &self.out, &self.log_sums];
        let dqkv = kernel!(gradient.device(), attention::backward(saved, &gradient, self.heads, flow))?;
        flow.give(&self.qkv, dqkv)
    }
}
