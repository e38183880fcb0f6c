//! Matrix products: one pair of inner loops for linear layers, attention and convolutions, forward and
//! backward, in f32, bf16 and f64; of linear layers also in integers.

mod finish;
mod panels;
mod product;
mod tile;
mod unit;

pub(crate) use finish::{Finish, Out};
pub(crate) use panels::{Order, PanelView, Panels, Unpacked, pack_panel, panel_width};
pub(crate) use product::{PASS, multiply};
pub(crate) use tile::{Left, multiply_rows};
pub(crate) use unit::{Bytes, IntegerPair, Pair, Unit, units};
