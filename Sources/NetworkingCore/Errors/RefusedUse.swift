/// The cause of a refusal that is a mistake of the app and not a limit, so that the user is not told to wait.
package struct RefusedUse: Error {
    /// The texts for the user of the app.
    let userText: UserText

    /// Creates a cause with the texts of a kind.
    package init(textOf kind: NetworkingError.Kind) {
        userText = kind.text
    }

    /// Creates a cause with the texts of a status that has its own.
    package init?(textOfStatus code: Int) {
        guard let text = UserText.status(code) else { return nil }
        userText = text
    }

    /// Creates a cause with texts of its own.
    package init(_ userText: UserText) {
        self.userText = userText
    }
}
