public import FoundationForNetworking

/// The texts for the user of the app: short sentences without URL, header or file name.
///
/// Each kind has its own texts, and so do the statuses 403, 404, 409, 410, 412, 413, 429 and 500 to 599. A 401 has
/// those of ``Kind/unauthorized`` and a 408 those of ``Kind/timeout``.
///
/// On Apple's platforms, an app translates them in the table `Networking` of its main bundle. The file
/// `Documentation/Networking.xcstrings` is such a table; add it to the app. ``text(_:translatedBy:)`` translates them
/// on any platform. A text without a translation is English.
extension NetworkingError: LocalizedError, ErrorWithUserText {
    // Not those of the protocol, because the documentation shows only members of public types.

    /// What happened.
    ///
    /// `localizedDescription` returns it too. For example: "There is no internet connection."
    public var errorDescription: String? {
        userText.localized(.description)
    }

    /// Why it happened.
    ///
    /// For example: "This device is not connected to the internet."
    public var failureReason: String? {
        userText.localized(.reason)
    }

    /// The way out for the user.
    ///
    /// For example: "Check your internet connection and try again."
    public var recoverySuggestion: String? {
        userText.localized(.suggestion)
    }

    /// The texts of the status or of the cause if it has its own, and those of the kind otherwise.
    package var userText: UserText {
        if let cause = underlying as? RefusedUse { return cause.userText }
        guard kind == .status, let status else { return kind.text }
        return UserText.status(status.code) ?? kind.text
    }
}

extension NetworkingError {
    /// A part of the text for the user of the app.
    public enum TextPart: String, Sendable, Hashable, CaseIterable {
        /// What happened, in one short sentence.
        case description
        /// Why it happened, in one short sentence.
        case reason
        /// The way out for the user, in one short sentence.
        case suggestion
    }

    /// Returns a text for the user of the app, translated by the app.
    ///
    /// ```swift
    /// label.text = error.text(.description) { key, english in
    ///     translations[key] ?? english   // the key is, for example, "offline.description"
    /// }
    /// ```
    ///
    /// The table `Networking` of the app is not used. The keys are those of `Documentation/Networking.xcstrings`: the
    /// name of the kind or the status, and the part.
    ///
    /// - Parameters:
    ///   - part: The part of the text.
    ///   - translate: Receives the key and the English text, and returns the text to show.
    /// - Returns: The result of `translate`.
    public func text(
        _ part: TextPart,
        translatedBy translate: (_ key: String, _ english: String) -> String
    ) -> String {
        let text = userText
        return translate(text.key(of: part), text.english(part))
    }
}
