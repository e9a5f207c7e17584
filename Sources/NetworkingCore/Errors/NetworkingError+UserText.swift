import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension NetworkingError: LocalizedError {
    /// One sentence for the user of the app, which `localizedDescription` returns: without URL, header or file name.
    public var errorDescription: String? {
        guard kind == .status, let status = response?.status else { return kind.userText }
        return switch status.code {
        case 401: Kind.unauthorized.userText
        case 403: "You do not have access to this."
        case 404, 410: "This could not be found on the server."
        case 408: Kind.timeout.userText
        case 409, 412: "This was changed on the server in the meantime."
        case 413: "This is too large for the server."
        case 429: Kind.rejected.userText
        case 500...599: "The server has a problem. Try again later."
        default: Kind.status.userText
        }
    }
}

extension NetworkingError.Kind {
    /// One sentence for the user of the app.
    package var userText: String {
        switch self {
        case .invalidRequest, .unencodableBody, .bodyNotReplayable, .unimplemented:
            "The request could not be sent."
        case .nameResolution, .connection:
            "The server could not be reached."
        case .tls:
            "No secure connection to the server could be made."
        case .offline:
            "There is no internet connection."
        case .timeout, .deadline:
            "The server took too long to respond."
        case .connectionLost, .truncated:
            "The connection to the server was lost."
        case .invalidResponse, .decoding:
            "The server sent a response that could not be read."
        case .tooLarge:
            "The server sent too much data."
        case .representationChanged:
            "The file was changed on the server during the transfer."
        case .checksumMismatch:
            "The downloaded file is damaged."
        case .tooManyRedirects:
            "The server redirected the request too many times."
        case .status:
            "The server refused the request."
        case .unauthorized:
            "You have to sign in for this."
        case .rejected:
            "There are too many requests. Try again later."
        case .storage:
            "A file could not be read or written."
        }
    }
}
