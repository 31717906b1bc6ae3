use crate::declare::section;
use crate::values::{WordOrEmpty, YesNo};

section! {
    /// The advertising settings of a vehicle (contract, "data.setting").
    pub struct Setting: SettingPatch {
        /// Featured: Yes or No.
        featured: WordOrEmpty<YesNo>;
        /// Price on application: Yes or No.
        poa: WordOrEmpty<YesNo>;
    }
}

impl Setting {
    /// Returns `true` if the price is given on application only.
    pub fn is_price_on_application(&self) -> bool {
        self.poa.0 == Some(YesNo::Yes)
    }
}
