//! The texts of documents, a table for each language. A text that a language lacks does not compile.

/// The names of payment methods in the API, in the order of [`Texts::methods`].
pub(crate) const METHODS: [&str; 7] = [
    "Bank Transfer",
    "Cash",
    "Card",
    "Cheque",
    "Finance",
    "Part Exchange",
    "Customer",
];

/// All texts of a document. Those with `{day}` or `{number}` have the place filled in.
pub(crate) struct Texts {
    pub(crate) invoice: &'static str,
    /// The title of an invoice that charges tax.
    pub(crate) vat_invoice: &'static str,
    pub(crate) credit_note: &'static str,
    pub(crate) order: &'static str,
    pub(crate) purchase: &'static str,
    pub(crate) purchase_credit: &'static str,

    pub(crate) draft_mark: &'static str,
    pub(crate) cancelled_mark: &'static str,
    pub(crate) credited_mark: &'static str,

    pub(crate) page: &'static str,
    pub(crate) of: &'static str,

    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) phone: &'static str,
    pub(crate) company_number: &'static str,
    pub(crate) vat_number: &'static str,
    pub(crate) fca_number: &'static str,

    pub(crate) details: &'static str,
    pub(crate) number: &'static str,
    /// The number of a document that has none.
    pub(crate) draft: &'static str,
    pub(crate) date: &'static str,
    pub(crate) due_date: &'static str,
    pub(crate) valid_until: &'static str,
    pub(crate) reference: &'static str,
    pub(crate) supplier_invoice: &'static str,
    pub(crate) currency: &'static str,
    pub(crate) credited_invoice: &'static str,
    pub(crate) credited_purchase: &'static str,
    pub(crate) reason: &'static str,

    pub(crate) description: &'static str,
    pub(crate) quantity: &'static str,
    pub(crate) vat_rate: &'static str,
    pub(crate) net: &'static str,
    pub(crate) vat: &'static str,
    pub(crate) gross: &'static str,
    /// The heading of amounts in a document without tax.
    pub(crate) amount: &'static str,
    pub(crate) stock_number: &'static str,
    /// The words beside a margin line.
    pub(crate) margin_line: &'static str,
    /// The statement that the law asks of a document with a margin line.
    pub(crate) margin_scheme: &'static str,

    pub(crate) part_exchanges: &'static str,
    pub(crate) allowance: &'static str,
    pub(crate) settlement: &'static str,

    pub(crate) total_net: &'static str,
    pub(crate) total_vat: &'static str,
    pub(crate) total: &'static str,
    pub(crate) paid: &'static str,
    pub(crate) credited: &'static str,
    pub(crate) due: &'static str,
    pub(crate) refund_due: &'static str,
    pub(crate) part_exchange: &'static str,
    pub(crate) deposit: &'static str,
    pub(crate) payable: &'static str,
    pub(crate) vat_by_rate: &'static str,

    pub(crate) payments: &'static str,
    pub(crate) method: &'static str,
    /// The methods of payment, in the order of [`METHODS`].
    pub(crate) methods: [&'static str; METHODS.len()],

    pub(crate) bank: &'static str,
    pub(crate) account_name: &'static str,
    pub(crate) sort_code: &'static str,
    pub(crate) account_number: &'static str,
    pub(crate) iban: &'static str,
    pub(crate) bic: &'static str,

    pub(crate) right_to_cancel: &'static str,
    pub(crate) may_cancel: &'static str,
    pub(crate) cancel_until: &'static str,
    pub(crate) cancel_after_delivery: &'static str,
    pub(crate) how_to_cancel: &'static str,

    pub(crate) terms: &'static str,
    pub(crate) customer_signature: &'static str,
    pub(crate) dealer_signature: &'static str,
}

pub(crate) const EN: Texts = Texts {
    invoice: "Invoice",
    vat_invoice: "VAT invoice",
    credit_note: "Credit note",
    order: "Order",
    purchase: "Purchase invoice",
    purchase_credit: "Purchase credit note",

    draft_mark: "DRAFT",
    cancelled_mark: "CANCELLED",
    credited_mark: "CREDITED",

    page: "Page",
    of: "of",

    from: "From",
    to: "To",
    phone: "Telephone",
    company_number: "Company number",
    vat_number: "VAT number",
    fca_number: "FCA number",

    details: "Details",
    number: "Number",
    draft: "Draft {number}",
    date: "Date",
    due_date: "Due date",
    valid_until: "Valid until",
    reference: "Reference",
    supplier_invoice: "Supplier's invoice",
    currency: "Currency",
    credited_invoice: "Invoice",
    credited_purchase: "Purchase",
    reason: "Reason",

    description: "Description",
    quantity: "Qty",
    vat_rate: "VAT rate",
    net: "Net",
    vat: "VAT",
    gross: "Gross",
    amount: "Amount",
    stock_number: "Stock number {number}",
    margin_line: "Margin scheme",
    margin_scheme: "Margin scheme - second hand goods",

    part_exchanges: "Part exchange",
    allowance: "Allowance",
    settlement: "Finance settled",

    total_net: "Total net",
    total_vat: "Total VAT",
    total: "Total",
    paid: "Paid",
    credited: "Credited",
    due: "Balance due",
    refund_due: "To be refunded",
    part_exchange: "Part exchange",
    deposit: "Deposit paid",
    payable: "Balance to pay",
    vat_by_rate: "VAT by rate",

    payments: "Payments",
    method: "Method",
    methods: [
        "Bank transfer",
        "Cash",
        "Card",
        "Cheque",
        "Finance",
        "Part exchange",
        "Customer",
    ],

    bank: "Bank details",
    account_name: "Account name",
    sort_code: "Sort code",
    account_number: "Account number",
    iban: "IBAN",
    bic: "BIC",

    right_to_cancel: "Your right to cancel",
    may_cancel: "You have the right to cancel this contract within 14 days without giving any reason.",
    cancel_until: "The cancellation period ends at the end of {day}.",
    cancel_after_delivery: "The cancellation period ends 14 days after the day on which you receive the goods.",
    how_to_cancel: "To cancel, inform us of your decision by a clear statement, such as a letter or an email, before the \
        cancellation period ends. We refund all payments received from you within 14 days of the day on which we receive the \
        goods back or, if earlier, you supply evidence of having sent them back.",

    terms: "Terms",
    customer_signature: "Signature of the customer, date",
    dealer_signature: "Signature of the dealer, date",
};

pub(crate) const DE: Texts = Texts {
    invoice: "Rechnung",
    vat_invoice: "Rechnung",
    credit_note: "Gutschrift",
    order: "Bestellung",
    purchase: "Einkaufsbeleg",
    purchase_credit: "Gutschrift zum Einkaufsbeleg",

    draft_mark: "ENTWURF",
    cancelled_mark: "STORNIERT",
    credited_mark: "GUTGESCHRIEBEN",

    page: "Seite",
    of: "von",

    from: "Von",
    to: "An",
    phone: "Telefon",
    company_number: "Registernummer",
    vat_number: "USt-IdNr.",
    fca_number: "FCA-Nummer",

    details: "Angaben",
    number: "Nummer",
    draft: "Entwurf {number}",
    date: "Datum",
    due_date: "Fällig am",
    valid_until: "Gültig bis",
    reference: "Referenz",
    supplier_invoice: "Rechnung des Lieferanten",
    currency: "Währung",
    credited_invoice: "Zur Rechnung",
    credited_purchase: "Zum Einkauf",
    reason: "Grund",

    description: "Beschreibung",
    quantity: "Menge",
    vat_rate: "USt-Satz",
    net: "Netto",
    vat: "USt",
    gross: "Brutto",
    amount: "Betrag",
    stock_number: "Bestandsnummer {number}",
    margin_line: "Differenzbesteuerung",
    margin_scheme: "Gebrauchtgegenstände/Sonderregelung (Differenzbesteuerung)",

    part_exchanges: "Inzahlungnahme",
    allowance: "Anrechnung",
    settlement: "Abgelöste Finanzierung",

    total_net: "Summe netto",
    total_vat: "Summe USt",
    total: "Gesamtbetrag",
    paid: "Bezahlt",
    credited: "Gutgeschrieben",
    due: "Offener Betrag",
    refund_due: "Zu erstatten",
    part_exchange: "Inzahlungnahme",
    deposit: "Geleistete Anzahlung",
    payable: "Zu zahlen",
    vat_by_rate: "USt nach Steuersatz",

    payments: "Zahlungen",
    method: "Zahlungsart",
    methods: [
        "Überweisung",
        "Bar",
        "Karte",
        "Scheck",
        "Finanzierung",
        "Inzahlungnahme",
        "Kunde",
    ],

    bank: "Bankverbindung",
    account_name: "Kontoinhaber",
    sort_code: "Bankleitzahl",
    account_number: "Kontonummer",
    iban: "IBAN",
    bic: "BIC",

    right_to_cancel: "Ihr Widerrufsrecht",
    may_cancel: "Sie haben das Recht, binnen 14 Tagen ohne Angabe von Gründen diesen Vertrag zu widerrufen.",
    cancel_until: "Die Widerrufsfrist endet mit Ablauf des {day}.",
    cancel_after_delivery: "Die Widerrufsfrist endet 14 Tage nach dem Tag, an dem Sie die Ware erhalten.",
    how_to_cancel: "Um Ihr Widerrufsrecht auszuüben, teilen Sie uns Ihren Entschluss vor Ablauf der Widerrufsfrist mit einer \
        eindeutigen Erklärung mit, etwa durch Brief oder E-Mail. Wir erstatten alle Zahlungen, die wir von Ihnen erhalten haben, \
        binnen 14 Tagen ab dem Tag, an dem wir die Ware zurückerhalten haben oder Sie deren Absendung nachgewiesen haben.",

    terms: "Bedingungen",
    customer_signature: "Unterschrift des Kunden, Datum",
    dealer_signature: "Unterschrift des Händlers, Datum",
};

pub(crate) const FR: Texts = Texts {
    invoice: "Facture",
    vat_invoice: "Facture",
    credit_note: "Avoir",
    order: "Bon de commande",
    purchase: "Facture d'achat",
    purchase_credit: "Avoir sur achat",

    draft_mark: "BROUILLON",
    cancelled_mark: "ANNULÉE",
    credited_mark: "CRÉDITÉE",

    page: "Page",
    of: "sur",

    from: "De",
    to: "À",
    phone: "Téléphone",
    company_number: "Numéro de registre",
    vat_number: "Numéro de TVA",
    fca_number: "Numéro FCA",

    details: "Informations",
    number: "Numéro",
    draft: "Brouillon {number}",
    date: "Date",
    due_date: "Échéance",
    valid_until: "Valable jusqu'au",
    reference: "Référence",
    supplier_invoice: "Facture du fournisseur",
    currency: "Devise",
    credited_invoice: "Facture",
    credited_purchase: "Achat",
    reason: "Motif",

    description: "Désignation",
    quantity: "Qté",
    vat_rate: "Taux de TVA",
    net: "HT",
    vat: "TVA",
    gross: "TTC",
    amount: "Montant",
    stock_number: "Numéro de stock {number}",
    margin_line: "Régime de la marge",
    margin_scheme: "Régime particulier - Biens d'occasion",

    part_exchanges: "Reprise",
    allowance: "Valeur de reprise",
    settlement: "Financement soldé",

    total_net: "Total HT",
    total_vat: "Total TVA",
    total: "Total",
    paid: "Payé",
    credited: "Crédité",
    due: "Solde à payer",
    refund_due: "À rembourser",
    part_exchange: "Reprise",
    deposit: "Acompte versé",
    payable: "Reste à payer",
    vat_by_rate: "TVA par taux",

    payments: "Paiements",
    method: "Mode de paiement",
    methods: [
        "Virement",
        "Espèces",
        "Carte",
        "Chèque",
        "Financement",
        "Reprise",
        "Client",
    ],

    bank: "Coordonnées bancaires",
    account_name: "Titulaire du compte",
    sort_code: "Code banque",
    account_number: "Numéro de compte",
    iban: "IBAN",
    bic: "BIC",

    right_to_cancel: "Votre droit de rétractation",
    may_cancel: "Vous avez le droit de vous rétracter du présent contrat sans donner de motif dans un délai de 14 jours.",
    cancel_until: "Le délai de rétractation expire à la fin du {day}.",
    cancel_after_delivery: "Le délai de rétractation expire 14 jours après le jour où vous recevez le bien.",
    how_to_cancel: "Pour vous rétracter, notifiez-nous votre décision par une déclaration dénuée d'ambiguïté, par exemple une \
        lettre ou un courriel, avant l'expiration du délai. Nous remboursons tous les paiements reçus de vous dans les 14 jours \
        qui suivent le jour où nous récupérons le bien ou recevons la preuve de son expédition.",

    terms: "Conditions",
    customer_signature: "Signature du client, date",
    dealer_signature: "Signature du vendeur, date",
};
