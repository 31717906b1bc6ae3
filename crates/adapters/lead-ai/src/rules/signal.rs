//! The meanings of the phrases of `data/signals.txt`.

use super::data;

/// Declares an enum whose variants the files of `data` name.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident,)* }) => {
        $(#[$about])*
        pub(super) enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// The variant of that name.
            pub(super) fn named(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($variant) => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(super) use named;

named! {
    /// The meaning of a phrase, for the sender who wrote it.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    Signal {
        /// Wants to buy, reserve, pay or collect.
        Commits,
        /// Offers a price, to be paid now.
        Offers,
        /// Has the money at hand.
        HasCash,
        /// Wants the finance application to begin.
        AppliesForFinance,
        /// Asks how reservations work.
        AsksReservation,
        /// Wants a test drive.
        TestDrive,
        /// Wants to see the car.
        Viewing,
        /// Asks whether the car is still for sale.
        Availability,
        /// Asks which cars there are.
        Stock,
        /// Asks for a price.
        Price,
        /// Asks about condition, history or equipment.
        Details,
        /// Asks for finance.
        Finance,
        /// Has a car to part exchange.
        PartExchange,
        /// Wants to know what their car is worth.
        Valuation,
        /// Wants a video.
        Video,
        /// Wants photographs.
        Photos,
        /// Wants a brochure.
        Brochure,
        /// Wants to be called.
        Callback,
        /// Asks for delivery.
        Delivery,
        /// Buys from abroad.
        Export,
        /// Buys through Motability.
        Motability,
        /// Buys for a business.
        Business,
        /// Is a dealer.
        Trade,
        /// Is interested.
        Interest,
        /// Looks for a kind of car.
        LooksFor,
        /// Names the kind of car that they look for.
        WantsKind,
        /// Names one certain car.
        NamesCar,
        /// Is at an early stage.
        Early,
        /// Wants to think.
        Thinks,
        /// Asks for opening hours or the way.
        Hours,
        /// Asks about the warranty of a car that is for sale.
        AsksWarranty,
        /// Has bought a car elsewhere.
        BoughtElsewhere,
        /// Has lost interest.
        Lost,
        /// Wants no more messages.
        StopContact,
        /// Wants a service, an MOT or a repair.
        Service,
        /// Wants parts or accessories.
        Parts,
        /// Has a fault in a car that was bought here.
        WarrantyClaim,
        /// Complains.
        Complaint,
        /// Praises.
        Praise,
        /// Looks for work.
        Job,
        /// Sells to dealers.
        Supplier,
        /// Wants a document, or has another matter that is no sale.
        Admin,
        /// Owns a car that was bought here.
        Owner,
        /// Something is broken.
        Fault,
        /// Asks something, with or without a question mark.
        Asks,
        /// Agrees to what was said before.
        Agrees,
    }
}

/// The phrases with their meanings.
pub(super) fn phrases() -> impl Iterator<Item = (&'static str, Signal)> {
    data::lines(data::SIGNALS).filter_map(|(name, phrase)| Some((phrase, Signal::named(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_a_signal() {
        for (name, phrase) in data::lines(data::SIGNALS) {
            assert!(Signal::named(name).is_some(), "{name}: {phrase}");
        }
    }
}
