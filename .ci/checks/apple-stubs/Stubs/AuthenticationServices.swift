// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AlwaysUseLowerCamelCase

// The declarations of AuthenticationServices that the library uses, with the signatures that Apple documents.

public import Foundation

@MainActor
open class ASPresentationAnchor: NSObject {}

public protocol ASWebAuthenticationPresentationContextProviding: NSObjectProtocol {
    @MainActor
    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor
}

open class ASWebAuthenticationSession: NSObject {
    public struct Callback {
        public static func customScheme(_ customScheme: String) -> Callback { fatalError() }
        public static func https(host: String, path: String) -> Callback { fatalError() }
    }

    public init(url: URL, callback: Callback, completionHandler: @escaping (URL?, (any Error)?) -> Void) {
        fatalError()
    }

    public weak var presentationContextProvider: (any ASWebAuthenticationPresentationContextProviding)?
    public var prefersEphemeralWebBrowserSession: Bool = false

    @discardableResult
    open func start() -> Bool { fatalError() }
    open func cancel() { fatalError() }
}

public struct ASWebAuthenticationSessionError: Error {
    public enum Code: Int, Sendable {
        case canceledLogin = 1
        case presentationContextNotProvided = 2
        case presentationContextInvalid = 3
    }

    public let code: Code
}
