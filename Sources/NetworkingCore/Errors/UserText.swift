#if canImport(Darwin)
import Foundation
#endif

/// The texts of an error for the user of the app, in English, and the key under which an app translates them.
///
/// `Documentation/Networking.xcstrings` contains the same texts. Tests compare the two. An error of a feature
/// declares its own texts in ``ErrorWithUserText/userText``.
package struct UserText: Sendable, Hashable {
    /// The start of the keys of the three texts: `offline` or `status.404`.
    let key: String
    /// What happened, in one short sentence.
    let description: String
    /// Why it happened, in one short sentence.
    let reason: String
    /// The way out for the user, in one short sentence.
    let suggestion: String

    /// Creates the texts of an error.
    ///
    /// - Parameters:
    ///   - key: The start of the keys. It starts with the name of the feature: `session.damaged`.
    ///   - description: What happened, in one short sentence.
    ///   - reason: Why it happened, in one short sentence.
    ///   - suggestion: The way out for the user, in one short sentence.
    package init(key: String, description: String, reason: String, suggestion: String) {
        self.key = key
        self.description = description
        self.reason = reason
        self.suggestion = suggestion
    }

    /// Returns the English text of a part.
    func english(_ part: NetworkingError.TextPart) -> String {
        switch part {
        case .description: description
        case .reason: reason
        case .suggestion: suggestion
        }
    }

    /// Returns the key of a part: `offline.description`.
    package func key(of part: NetworkingError.TextPart) -> String {
        "\(key).\(part.rawValue)"
    }

    /// Returns a part in the language of the app, or in English if the app does not translate it.
    func localized(_ part: NetworkingError.TextPart) -> String {
        #if canImport(Darwin)
        Bundle.main.localizedString(forKey: key(of: part), value: english(part), table: "Networking")
        #else
        english(part)
        #endif
    }
}

extension UserText {
    /// Every text of the core, in the order of the kinds and then of the statuses.
    static var core: [UserText] {
        NetworkingError.Kind.allCases.map(\.text) + [
            forbidden, notFound, conflict, gone, preconditionFailed, contentTooLarge, tooManyRequests, serverError,
        ]
    }

    /// Returns the text of a status; `nil` if the status has no text.
    static func status(_ code: Int) -> UserText? {
        switch code {
        case 401: NetworkingError.Kind.unauthorized.text
        case 403: forbidden
        case 404: notFound
        case 408: NetworkingError.Kind.timeout.text
        case 409: conflict
        case 410: gone
        case 412: preconditionFailed
        case 413: contentTooLarge
        case 429: tooManyRequests
        case 500...599: serverError
        default: nil
        }
    }

    private static let forbidden = UserText(
        key: "status.403",
        description: "You do not have access to this.",
        reason: "Your account is not allowed to do this.",
        suggestion: "Ask for access, or sign in with another account."
    )
    private static let notFound = UserText(
        key: "status.404",
        description: "This could not be found on the server.",
        reason: "It does not exist, or it was moved or deleted.",
        suggestion: "Go back, refresh and try again."
    )
    private static let conflict = UserText(
        key: "status.409",
        description: "This was changed on the server in the meantime.",
        reason: "Your change conflicts with another one.",
        suggestion: "Refresh and try again."
    )
    private static let gone = UserText(
        key: "status.410",
        description: "This is no longer available on the server.",
        reason: "It was deleted permanently.",
        suggestion: "Go back and refresh."
    )
    private static let preconditionFailed = UserText(
        key: "status.412",
        description: "This was changed on the server in the meantime.",
        reason: "The version on the server is newer than yours.",
        suggestion: "Refresh and try again."
    )
    private static let contentTooLarge = UserText(
        key: "status.413",
        description: "This is too large for the server.",
        reason: "The server limits the size of uploads.",
        suggestion: "Choose a smaller file and try again."
    )
    private static let tooManyRequests = UserText(
        key: "status.429",
        description: "There are too many requests.",
        reason: "The server limits the number of requests.",
        suggestion: "Wait a moment and try again."
    )
    private static let serverError = UserText(
        key: "status.5xx",
        description: "The server has a problem.",
        reason: "The server could not process the request.",
        suggestion: "Try again later."
    )
}

extension NetworkingError.Kind {
    /// The texts for the user of the app.
    package var text: UserText {
        switch self {
        case .invalidRequest:
            UserText(
                key: rawValue,
                description: "The request could not be sent.",
                reason: "The app created an invalid request.",
                suggestion: "Update the app, or contact its developer."
            )
        case .unencodableBody:
            UserText(
                key: rawValue,
                description: "The request could not be sent.",
                reason: "The app could not prepare the data to send.",
                suggestion: "Update the app, or contact its developer."
            )
        case .bodyNotReplayable:
            UserText(
                key: rawValue,
                description: "The request could not be sent.",
                reason: "The data could not be sent a second time.",
                suggestion: "Try again."
            )
        case .nameResolution:
            UserText(
                key: rawValue,
                description: "The server could not be reached.",
                reason: "The address of the server could not be found.",
                suggestion: "Check your internet connection and try again."
            )
        case .connection:
            UserText(
                key: rawValue,
                description: "The server could not be reached.",
                reason: "The server did not accept a connection.",
                suggestion: "Check your internet connection and try again."
            )
        case .tls:
            UserText(
                key: rawValue,
                description: "A secure connection to the server could not be made.",
                reason: "The identity of the server could not be verified, or the connection was not secure.",
                suggestion: "Check the date and time of this device, or try another network."
            )
        case .offline:
            UserText(
                key: rawValue,
                description: "There is no internet connection.",
                reason: "This device is not connected to the internet.",
                suggestion: "Check your internet connection and try again."
            )
        case .timeout:
            UserText(
                key: rawValue,
                description: "The server took too long to respond.",
                reason: "The server or the connection to it is slow.",
                suggestion: "Check your internet connection and try again."
            )
        case .deadline:
            UserText(
                key: rawValue,
                description: "The server took too long to respond.",
                reason: "The request was not completed in time.",
                suggestion: "Try again later."
            )
        case .connectionLost:
            UserText(
                key: rawValue,
                description: "The connection to the server was lost.",
                reason: "The connection ended before the response was complete.",
                suggestion: "Check your internet connection and try again."
            )
        case .invalidResponse:
            UserText(
                key: rawValue,
                description: "The server sent a response that could not be read.",
                reason: "The response is not valid.",
                suggestion: "Try again later."
            )
        case .tooLarge:
            UserText(
                key: rawValue,
                description: "The server sent too much data.",
                reason: "The response is larger than the app allows.",
                suggestion: "Update the app, or contact its developer."
            )
        case .truncated:
            UserText(
                key: rawValue,
                description: "The connection to the server was lost.",
                reason: "Part of the response is missing.",
                suggestion: "Check your internet connection and try again."
            )
        case .representationChanged:
            UserText(
                key: rawValue,
                description: "The file was changed on the server during the transfer.",
                reason: "The transferred parts belong to different versions of the file.",
                suggestion: "Start the transfer again."
            )
        case .checksumMismatch:
            UserText(
                key: rawValue,
                description: "The downloaded file is damaged.",
                reason: "The content of the file is not the expected content.",
                suggestion: "Download the file again."
            )
        case .tooManyRedirects:
            UserText(
                key: rawValue,
                description: "The server redirected the request too many times.",
                reason: "The server keeps redirecting the request.",
                suggestion: "Try again later."
            )
        case .status:
            UserText(
                key: rawValue,
                description: "The server refused the request.",
                reason: "The server reported an error.",
                suggestion: "Try again later."
            )
        case .unauthorized:
            UserText(
                key: rawValue,
                description: "You need to sign in to continue.",
                reason: "You are not signed in, or your sign-in has expired.",
                suggestion: "Sign in and try again."
            )
        case .decoding:
            UserText(
                key: rawValue,
                description: "The server sent a response that could not be read.",
                reason: "The response is not in the expected format.",
                suggestion: "Update the app, or contact its developer."
            )
        case .rejected:
            UserText(
                key: rawValue,
                description: "There are too many requests.",
                reason: "The app limits the number of its requests.",
                suggestion: "Wait a moment and try again."
            )
        case .storage:
            UserText(
                key: rawValue,
                description: "A file could not be read or written.",
                reason: "The file is missing or protected, or there is not enough free space.",
                suggestion: "Check the free space on this device and try again."
            )
        case .unimplemented:
            UserText(
                key: rawValue,
                description: "The request could not be sent.",
                reason: "This part of the app is not connected to a server.",
                suggestion: "Update the app, or contact its developer."
            )
        }
    }
}
