#if Crypto
import FoundationForNetworking
public import HTTPTypes
public import NetworkingCore

extension HMACSigner {
    /// The field that contains a signature, and the format of its value.
    public struct Destination: Sendable {
        /// The scheme, for the Authorization field.
        let scheme: String?
        private let name: HTTPField.Name
        private let text: @Sendable (Signature) -> String

        /// A header field.
        ///
        /// - Parameters:
        ///   - name: The name of the field.
        ///   - text: Returns the value; `nil` for only the signature in hexadecimal digits.
        /// - Returns: The destination.
        public static func field(
            _ name: HTTPField.Name,
            _ text: (@Sendable (Signature) -> String)? = nil
        ) -> Destination {
            // The scheme is a placeholder. It marks the Authorization field, of which a request has only one, as used.
            Destination(scheme: name == .authorization ? "HMAC" : nil, name: name, text: text ?? { $0.hexadecimal })
        }

        /// The Authorization field.
        ///
        /// - Parameters:
        ///   - scheme: The scheme at the start of the value, before a space.
        ///   - text: Returns the rest of the value.
        /// - Returns: The destination.
        public static func authorization(
            _ scheme: String,
            _ text: @escaping @Sendable (Signature) -> String
        ) -> Destination {
            Destination(scheme: scheme, name: .authorization) { "\(scheme) \(text($0))" }
        }

        func write(_ signature: Signature, to request: inout HTTPRequestData) {
            request.setCredential(text(signature), for: name)
        }
    }

    /// A signature, and the values that may be sent with it.
    public struct Signature: Sendable, RedactedDescription {
        /// The name of the key.
        public let keyID: String
        /// The time, in the format of the first part with a timestamp; `nil` without such a part.
        public let timestamp: String?
        /// The 128 random bits of ``HMACSigner/Part/nonce(in:)``, in hexadecimal digits.
        public let nonce: String
        private let code: [UInt8]

        init(keyID: String, code: [UInt8], _ values: Values) {
            self.keyID = keyID
            self.code = code
            timestamp = values.timestamp
            nonce = values.nonce
        }

        /// The signature in hexadecimal digits, in lower case.
        public var hexadecimal: String {
            code.hexadecimal
        }

        /// The signature in base 64 (RFC 4648 section 4).
        public var base64: String {
            Data(code).base64EncodedString()
        }
    }
}
#endif
