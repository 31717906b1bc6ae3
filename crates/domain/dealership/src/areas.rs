//! The list of all areas: what a session reads and writes of each, and the type that keeps it in memory.

/// Declares the areas. A line names an area's crate, its ports for reading and its ports for writing. From its `testing` module
/// it names the trait of stores in memory, with its method and its type. It also names the member of
/// [`MemoryState`](crate::testing::MemoryState) for the records.
///
/// The macro generates [`AreaReaders`], [`AreaStores`], and the part of the database in memory that belongs to areas.
macro_rules! areas {
    ($(
        $area:ident reads [$($reader:ident),*] writes [$($store:ident),*]
            $(, $holds:ident::$held:ident as $member:ident: $memory:ident)*;
    )+) => {
        /// The readers of all areas.
        pub trait AreaReaders: $($(::$area::$reader +)*)+ {}

        impl<S: $($(::$area::$reader +)*)+> AreaReaders for S {}

        /// The stores of all areas.
        pub trait AreaStores: $($(::$area::$store +)*)+ {}

        impl<S: $($(::$area::$store +)*)+> AreaStores for S {}

        #[cfg(feature = "testing")]
        pub(crate) mod memory {
            use crate::testing::MemorySession;

            /// The records of every area.
            #[derive(Clone, Default)]
            #[expect(missing_docs, reason = "each member's type says what it is")]
            pub struct MemoryRecords {
                $($(pub $member: ::$area::testing::$memory,)*)+
            }

            $($(impl ::$area::testing::$holds for MemorySession {
                fn $held(&mut self) -> &mut ::$area::testing::$memory {
                    &mut self.state.records.$member
                }
            })*)+
        }
    };
}

areas! {
    forecourt_accounts reads [AccountReader] writes [AccountStore, IdempotencyStore];
    forecourt_leads reads [LeadReader, ConversationReader] writes [LeadStore, ConversationStore],
        HoldsLeads::held_leads as leads: MemoryLeads;
    forecourt_contacts reads [ContactReader, ContactMailReader] writes [ContactStore], HoldsContacts::held_contacts as contacts: MemoryContacts;
    forecourt_vehicles reads [VehicleReader, VehicleDocumentReader, TestDriveReader, ContactVehicleReader]
        writes [VehicleStore, VehicleFileStore, VehicleProcessStore, VehicleDeletionStore, VehicleMailStore, TestDriveStore],
        HoldsVehicles::held_vehicles as vehicles: MemoryVehicles,
        HoldsVehicleRecords::held_vehicle_records as vehicle_records: MemoryVehicleRecords;
    forecourt_files reads [FileReader] writes [FileRegister], HoldsFiles::held_files as files: MemoryFileRegister;
    forecourt_invoices reads [InvoiceReader, ContactInvoiceReader] writes [InvoiceStore], HoldsInvoices::held_invoices as invoices: MemoryInvoices;
    forecourt_orders reads [OrderReader, ContactOrderReader] writes [OrderStore], HoldsOrders::held_orders as orders: MemoryOrders;
    forecourt_deals reads [DealReader, ContactDealReader] writes [DealStore], HoldsDeals::held_deals as deals: MemoryDeals;
    forecourt_purchases reads [PurchaseReader, ContactPurchaseReader] writes [PurchaseStore],
        HoldsPurchases::held_purchases as purchases: MemoryPurchases;
    forecourt_stock_book reads [StockBookReader, VatReader] writes [StockBookStore],
        HoldsStockBook::held_stock_book as stock_book: MemoryStockBook;
    forecourt_sales reads [AcquisitionReader] writes [SaleStore, SaleDeletionStore];
    forecourt_jobs reads [JobReader] writes [JobStore], HoldsJobs::held_jobs as jobs: MemoryJobs;
    forecourt_listings reads [ListingReader] writes [ListingStore], HoldsListings::held_listings as listings: MemoryListings;
    forecourt_calls reads [CallReader, ContactCallReader] writes [CallStore], HoldsCalls::held_calls as calls: MemoryCalls;
    forecourt_reviews reads [ReviewReader, NamedReviewReader] writes [ReviewStore], HoldsReviews::held_reviews as reviews: MemoryReviews;
    forecourt_appointments reads [AppointmentReader, ContactAppointmentReader] writes [AppointmentStore],
        HoldsAppointments::held_appointments as appointments: MemoryAppointments;
    forecourt_blogs reads [ArticleReader] writes [ArticleStore], HoldsArticles::held_articles as articles: MemoryArticles;
    forecourt_webhooks reads [WebhookReader] writes [WebhookStore, DeliveryQueue],
        HoldsWebhooks::held_webhooks as webhooks: MemoryWebhooks;
}
