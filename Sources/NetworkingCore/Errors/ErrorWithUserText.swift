package import FoundationForNetworking

/// An error that provides texts for the user of the app.
///
/// Its type names the texts, and the properties of `LocalizedError` return them in the language of the app.
package protocol ErrorWithUserText: LocalizedError {
    /// The texts.
    var userText: UserText { get }
}

extension ErrorWithUserText {
    /// What happened, for the user of the app; `localizedDescription` returns it too.
    public var errorDescription: String? {
        userText.localized(.description)
    }

    /// Why it happened, for the user of the app.
    public var failureReason: String? {
        userText.localized(.reason)
    }

    /// The way out for the user of the app.
    public var recoverySuggestion: String? {
        userText.localized(.suggestion)
    }
}
