use crate::declare::section;
use crate::values::{Worded, YesNo};

section! {
    /// How a vehicle is advertised (contract, "data.setting").
    pub struct Setting: SettingPatch {
        /// Whether it is featured.
        featured: Worded<YesNo>;
        /// Whether its price is on application.
        poa: Worded<YesNo>;
    }
}

impl Setting {
    /// Whether the price is given on application only.
    pub fn is_price_on_application(&self) -> bool {
        self.poa.0 == Some(YesNo::Yes)
    }
}
