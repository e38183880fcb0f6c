//! The methods of [`Lanes`](super::Lanes) that are one instruction of x86 each, written once for all its vectors.

/// Implements these methods by the intrinsics named.
///
/// SAFETY (of every block here): as of those in the implementation that uses it.
macro_rules! by_intrinsics {
    (
        $number:ty,
        splat: $splat:ident,
        load: $load:ident,
        store: $store:ident,
        sqrt: $sqrt:ident,
        mul_add: $mul_add:ident,
        $($of_two:ident: $intrinsic:ident),* $(,)?
    ) => {
        #[inline(always)]
        fn splat(x: $number) -> Self {
            Self(unsafe { $splat(x) })
        }
        #[inline(always)]
        unsafe fn load(from: *const $number) -> Self {
            Self(unsafe { $load(from) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut $number) {
            unsafe { $store(to, self.0) }
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            Self(unsafe { $sqrt(self.0) })
        }
        #[inline(always)]
        fn mul_add(self, factor: Self, term: Self) -> Self {
            Self(unsafe { $mul_add(self.0, factor.0, term.0) })
        }
        $(
            #[inline(always)]
            fn $of_two(self, other: Self) -> Self {
                Self(unsafe { $intrinsic(self.0, other.0) })
            }
        )*
    };
}

pub(super) use by_intrinsics;
