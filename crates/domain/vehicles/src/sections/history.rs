use forecourt_kernel::Date;

use crate::declare::section;
use crate::values::{Text, WordOrEmpty, Year, YesNo};

section! {
    /// The past of a vehicle (contract, "data.history").
    pub struct History: HistoryPatch {
        /// Number of previous owners.
        previous_owner: Option<u32>;
        /// Number of keys.
        keys: Option<u32>, advert;
        /// Registration document: Yes if the dealership has it.
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
        /// Last day of the MOT.
        mot_expiry: Option<Date>;
        /// Sold with a year's MOT: Yes or No.
        mot_year: WordOrEmpty<YesNo>;
        /// Sold with MOT insurance: Yes or No.
        mot_insurance: WordOrEmpty<YesNo>;
        /// Last day of the warranty.
        warranty_expiry: Option<Date>;
        /// Months of warranty.
        warranty_month: Option<u32>;
        /// Months of warranty on the battery.
        warranty_battery_month: Option<u32>;
        /// Note on the services.
        service_note: Text;
    }
}
