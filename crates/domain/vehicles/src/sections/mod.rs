//! What is kept of a vehicle, section by section (contract, "Vehicle").
//!
//! To add a field, write its line into its section: the line's flags say who may write it, who sees it, and whether lists
//! are filtered by it. Only a filter needs more: the column of its name, in a migration.

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
    /// What is kept of a vehicle besides its identity and its state.
    pub struct Data: DataPatch {
        /// What the vehicle is.
        vehicle: Identity, simple, advert_in_part;
        /// Its equipment, and the texts of its advert.
        option: Options, advert;
        /// What it has been through.
        history: History, advert_in_part;
        /// How it is kept in stock, and for what price.
        stock: Stock, simple_in_part, advert_in_part;
        /// How it is advertised.
        setting: Setting;
        /// Its data sheet.
        spec: Spec, advert;
        /// Its appraisal, if it was offered to the dealership.
        appraisal: Appraisal, on_create;
        /// What public registers know of it.
        lookup: Lookup, read_only;
    }
}

impl Data {
    /// The price that is advertised: none while it is on application, even if one is stored (decisions §7).
    pub fn advertised_price(&self) -> Option<Money> {
        self.stock
            .price_website
            .filter(|_| !self.setting.is_price_on_application())
    }

    /// Works out what follows from the rest: resolved equipment, totals, and whether the price is on application. The use cases
    /// do so by themselves; a caller that makes a record without them calls it before storing.
    pub fn derive_values(&mut self) {
        self.option.resolve_features();
        self.stock.add_up_costs();
        self.stock.price_poa = self.setting.is_price_on_application();
    }
}
