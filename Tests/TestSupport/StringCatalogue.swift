import Foundation
package import Networking

/// The string catalogue with which apps translate the texts of errors.
package struct StringCatalogue: Decodable, Sendable {
    /// The language of the code.
    package let sourceLanguage: String
    /// The entries by their keys.
    package let strings: [String: Entry]

    /// One text in all languages.
    package struct Entry: Decodable, Sendable {
        /// The explanation for translators.
        package let comment: String
        let localizations: [String: Localization]

        /// The text in a language; `nil` if there is none.
        package func value(_ language: String) -> String? {
            localizations[language]?.stringUnit.value
        }

        /// Whether all languages are translated.
        package var isTranslated: Bool {
            localizations.values.allSatisfy { $0.stringUnit.state == "translated" }
        }
    }

    struct Localization: Decodable, Sendable {
        let stringUnit: Unit
    }

    struct Unit: Decodable, Sendable {
        let state: String
        let value: String
    }

    /// Reads `Documentation/Networking.xcstrings`.
    package init() throws {
        let text = try Repository.text(at: "Documentation/Networking.xcstrings")
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }

    /// Returns the English texts of the keys that start with one of some names.
    package func english(of features: Set<String>) -> [String: String] {
        strings.filter { features.contains(String($0.key.prefix { $0 != "." })) }.compactMapValues { $0.value("en") }
    }
}

extension ErrorWithUserText {
    /// The texts that the error shows, by their keys in the catalogue.
    package var textsByKey: [String: String] {
        let shown: [(NetworkingError.TextPart, String?)] = [
            (.description, errorDescription), (.reason, failureReason), (.suggestion, recoverySuggestion),
        ]
        return Dictionary(uniqueKeysWithValues: shown.map { (userText.key(of: $0), $1 ?? "none") })
    }
}
