import Foundation
import HTTPTypes
import Networking
import TestSupport
import Testing

@testable import NetworkingAuthentication
@testable import NetworkingBackgroundTransfers
@testable import NetworkingConnectivity
@testable import NetworkingCookies
@testable import NetworkingCore
@testable import NetworkingTransfers

/// The texts of errors for the user of the app, and the catalogue with which apps translate them.
struct UserTextTests {
    private let request = HTTPRequestData(authority: "example.com")

    /// The texts of the modules that `Networking` exports.
    private static let texts = UserText.core + errors.map(\.userText) + [.changedUpload]

    /// An error for each text of a feature.
    private static let errors: [any ErrorWithUserText] = [
        SessionStorageError.damaged(movedTo: file), SessionStorageError.unusable(reason: ""),
        BackgroundTransferFailure(URLError(.unknown)), BackgroundTransferFailure(CancellationError()),
        OutboxStoreError.fileDamaged(movedTo: file), OutboxStoreError.unusable(reason: ""),
        CookieStorageError.damaged(movedTo: file), CookieStorageError.unusable(reason: ""),
    ]

    private static let file = URL(filePath: "/tmp/damaged")

    /// The products with texts of their own, which are compared in the tests of these products.
    private static let products: Set = ["cache", "oauth"]

    private func error(_ kind: NetworkingError.Kind, status: Int? = nil) -> NetworkingError {
        let response = status.map { HTTPResponseData(request: request, status: .init(code: $0)) }
        return NetworkingError(kind, request: request, response: response)
    }

    // MARK: The catalogue

    @Test func catalogueHasTheKeysAndEnglishTextsOfTheCode() throws {
        var texts: [String: String] = [:]
        for text in Self.texts {
            for part in NetworkingError.TextPart.allCases {
                let former = texts.updateValue(text.english(part), forKey: text.key(of: part))
                #expect(former == nil)
            }
        }
        let catalogue = try StringCatalogue()
        #expect(catalogue.sourceLanguage == "en")
        #expect(catalogue.strings.count == texts.count + catalogue.english(of: Self.products).count)
        #expect(texts.allSatisfy { catalogue.strings[$0.key]?.value("en") == $0.value })
    }

    @Test func catalogueHasACommentAndAGermanTextForEachKey() throws {
        for (key, entry) in try StringCatalogue().strings {
            #expect(!entry.comment.isEmpty, "\(key)")
            #expect(entry.value("de")?.hasSuffix(".") == true, "\(key)")
            #expect(entry.isTranslated, "\(key)")
        }
    }

    // MARK: The texts

    @Test func textsAreShortSentencesWithoutJargon() {
        for text in Self.texts {
            for part in NetworkingError.TextPart.allCases {
                let english = text.english(part)
                #expect(english.hasSuffix(".") && english.count <= 90, "\(english)")
                for word in ["HTTP", "URL", "status", "header", "token", "timeout", "JSON"] {
                    #expect(!english.contains(word), "\(english)")
                }
            }
        }
    }

    @Test func errorHasADescriptionAReasonAndASuggestion() {
        let offline = error(.offline)
        #expect(offline.errorDescription == "There is no internet connection.")
        #expect(offline.failureReason == "This device is not connected to the internet.")
        #expect(offline.recoverySuggestion == "Check your internet connection and try again.")
        #expect((offline as any Error).localizedDescription == offline.errorDescription)
    }

    @Test(arguments: NetworkingError.Kind.allCases)
    func eachKindHasItsOwnKey(kind: NetworkingError.Kind) {
        for part in NetworkingError.TextPart.allCases {
            let key = error(kind).text(part, translatedBy: { key, _ in key })
            #expect(key == "\(kind.rawValue).\(part.rawValue)")
        }
    }

    @Test(arguments: [
        (401, "unauthorized"), (403, "status.403"), (404, "status.404"), (408, "timeout"), (409, "status.409"),
        (410, "status.410"), (412, "status.412"), (413, "status.413"), (429, "status.429"), (500, "status.5xx"),
        (599, "status.5xx"), (400, "status"), (418, "status"),
    ])
    func someStatusesHaveTheirOwnKey(code: Int, key: String) {
        let text = error(.status, status: code).text(.suggestion, translatedBy: { key, _ in key })
        #expect(text == "\(key).suggestion")
        // The status is ignored for any other kind.
        let decoding = error(.decoding, status: code).text(.description, translatedBy: { key, _ in key })
        #expect(decoding == "decoding.description")
    }

    @Test func refusalThatIsNoLimitDoesNotAskTheUserToWait() {
        let cause = RefusedUse(textOf: .unimplemented)
        let error = NetworkingError(.rejected, request: request, underlying: cause)
        #expect(error.localizedDescription == "The request could not be sent.")
        #expect(error.recoverySuggestion?.contains("Wait") == false)
        #expect(self.error(.rejected).localizedDescription == "There are too many requests.")
    }

    @Test func appTranslatesTextsByKeyAndEnglishText() {
        let translations = ["offline.description": "Keine Verbindung."]
        func translated(_ part: NetworkingError.TextPart) -> String {
            error(.offline).text(part, translatedBy: { translations[$0] ?? $1 })
        }
        #expect(translated(.description) == "Keine Verbindung.")
        #expect(translated(.reason) == "This device is not connected to the internet.")
        #expect(translated(.suggestion) == "Check your internet connection and try again.")
    }
}
