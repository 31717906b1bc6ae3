//! The data of a vehicle, section by section (contract, "Vehicle").
//!
//! A new field is one line in its section. The line's flags say who may write the field, which views show it, and whether lists
//! are filtered by it. Only a filter needs more: a migration that adds the column of its name.

mod appraisal;
mod history;
mod identity;
mod lookup;
mod options;
mod setting;
mod spec;
mod stock;

use forecourt_kernel::Money;

use crate::declare::section;

pub use appraisal::{
    Appraisal, AppraisalCalculation, AppraisalCalculationPatch, AppraisalConfirm, AppraisalConfirmPatch,
    AppraisalDetails, AppraisalDetailsPatch, AppraisalPatch,
};
pub use history::{History, HistoryPatch};
pub(crate) use identity::ChangedWords;
pub use identity::{Identity, IdentityPatch};
pub use lookup::{
    DvlaRecord, DvlaRecordPatch, DvsaRecord, DvsaRecordPatch, Lookup, LookupPatch, MotTest, MotTests, ProvenanceCheck,
    ProvenanceCheckPatch,
};
pub use options::{Features, Html, Options, OptionsPatch};
pub use setting::{Setting, SettingPatch};
pub use spec::{
    Battery, BatteryPatch, Engine, EnginePatch, Fuel, FuelPatch, Insurance, InsurancePatch, OtherSpec, OtherSpecPatch,
    Performance, PerformancePatch, Size, SizePatch, Spec, SpecPatch,
};
pub use stock::{AuctionType, CostRow, CostRowId, CostRowPatch, CostRows, Stock, StockPatch};

section! {
    /// The data of a vehicle: everything except its identity and its state.
    pub struct Data: DataPatch {
        /// Identity of the vehicle.
        vehicle: Identity, simple, advert_in_part;
        /// Equipment, and the texts of the advert.
        option: Options, advert;
        /// Past of the vehicle.
        history: History, advert_in_part;
        /// Stock data and prices.
        stock: Stock, simple_in_part, advert_in_part;
        /// Advertising settings.
        setting: Setting;
        /// Data sheet.
        spec: Spec, advert;
        /// Appraisal, if the vehicle was offered to the dealership.
        appraisal: Appraisal, on_create;
        /// Data of public registers.
        lookup: Lookup, read_only;
    }
}

impl Data {
    /// Returns the advertised price. It is `None` for a price on application, even if one is stored (decisions §7).
    pub fn advertised_price(&self) -> Option<Money> {
        self.stock
            .price_website
            .filter(|_| !self.setting.is_price_on_application())
    }

    /// Computes the derived values: resolved equipment, totals, and whether the price is on application. The use cases call it; a
    /// caller that creates a record without them must call it before storing.
    pub fn derive_values(&mut self) {
        self.option.resolve_features();
        self.stock.add_up_costs();
        self.stock.price_poa = self.setting.is_price_on_application();
    }
}
