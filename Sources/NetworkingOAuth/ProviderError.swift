#if Crypto
import NetworkingCore

/// The error reported by a provider, in a form that is safe to show.
struct ProviderError {
    let code: String?
    private let explanation: String?

    /// Creates the error, with secrets redacted in case the provider repeats them.
    init(code: String?, explanation: String?, redacting secrets: [String]) {
        let printable = { (text: String, limit: Int) in
            PrintableText.cut(PrintableText.singleLine(text.redacting(secrets)), to: limit)
        }
        self.code = code.flatMap { $0.isEmpty ? nil : printable($0, 64) }
        self.explanation = explanation.flatMap { $0.isEmpty ? nil : printable($0, 200) }
    }

    /// The code and the explanation, for the middle of a sentence.
    var text: String {
        switch (code, explanation) {
        case (nil, nil): ""
        case (let code?, nil): " (\(code))"
        case (nil, let explanation?): " (\(explanation))"
        case (let code?, let explanation?): " (\(code): \(explanation))"
        }
    }
}
#endif
