use crate::declare::section;
use crate::values::{WordOrEmpty, YesNo};

section! {
    /// How a vehicle is advertised (contract, "data.setting").
    pub struct Setting: SettingPatch {
        /// Whether it is featured.
        featured: WordOrEmpty<YesNo>;
        /// Whether its price is on application.
        poa: WordOrEmpty<YesNo>;
    }
}

impl Setting {
    /// Whether the price is given on application only.
    pub fn is_price_on_application(&self) -> bool {
        self.poa.0 == Some(YesNo::Yes)
    }
}
