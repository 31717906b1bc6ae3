use forecourt_kernel::Date;

use crate::declare::section;
use crate::values::{Text, WordOrEmpty, Year, YesNo};

section! {
    /// What a vehicle has been through (contract, "data.history").
    pub struct History: HistoryPatch {
        /// Previous owners.
        previous_owner: Option<u32>;
        /// Keys that come with it.
        keys: Option<u32>, advert;
        /// Whether the registration document is there.
        v5: WordOrEmpty<YesNo>;
        /// Year of make.
        year: Option<Year>, advert, filter_range("year");
        /// Condition.
        condition: String, advert;
        /// Condition of the interior.
        condition_interior: String;
        /// Condition of the exterior.
        condition_exterior: String;
        /// Condition of the tyres.
        condition_tyre: String;
        /// Service history.
        service_history: String, advert;
        /// Date of the last service.
        service_last: Option<Date>;
        /// Mileage at the last service.
        service_miles: Option<u32>;
        /// The day on which the MOT ends.
        mot_expiry: Option<Date>;
        /// Whether it is sold with a year's MOT.
        mot_year: WordOrEmpty<YesNo>;
        /// Whether it is sold with MOT insurance.
        mot_insurance: WordOrEmpty<YesNo>;
        /// The day on which the warranty ends.
        warranty_expiry: Option<Date>;
        /// Months of warranty.
        warranty_month: Option<u32>;
        /// Months of warranty on the battery.
        warranty_battery_month: Option<u32>;
        /// Note on its services.
        service_note: Text;
    }
}
