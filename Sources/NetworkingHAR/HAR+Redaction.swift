import HTTPTypes
package import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension HAR {
    /// The archive with all replaced that a redaction hides: for archives that somebody else has written.
    ///
    /// It can be applied again: what it leaves is what it would leave then.
    package func redacted(by redaction: Redaction) -> HAR {
        var har = self
        for index in har.log.entries.indices {
            har.log.entries[index].hide(redaction)
        }
        return har
    }
}

extension HAR.Entry {
    mutating func hide(_ redaction: Redaction) {
        request.hide(redaction)
        response.hide(redaction)
        comment = comment.map(redaction.hidingValues)
        error?.hide(redaction)
        guard var summary = call?.summary else { return }
        summary.url = redaction.url(summary.url)
        summary.error?.hide(redaction)
        summary.response?.hide(redaction)
        call?.summary = summary
    }
}

extension HAR.Failure {
    mutating func hide(_ redaction: Redaction) {
        reason = redaction.hidingValues(in: reason)
    }
}

extension HAR.Request {
    mutating func hide(_ redaction: Redaction) {
        url = redaction.url(url)
        headers = headers.map(redaction.field)
        // Those that were listed say no more than what stands in the URL and the fields.
        queryString = HAR.queryItems(of: url)
        cookies = headers.filter { $0.name.lowercased() == "cookie" }
            .flatMap { field in
                field.value == Redaction.placeholder ? [] : HAR.Cookie.cookies(of: field.value)
            }
        postData?.hide(redaction)
    }
}

extension HAR.Response {
    mutating func hide(_ redaction: Redaction) {
        statusText = Redaction.singleLine(redaction.hidingValues(in: statusText))
        headers = headers.map(redaction.field)
        redirectURL = redaction.url(redirectURL)
        let hidesCookies = redaction.hidesField(named: "set-cookie")
        cookies = cookies.map { cookie in
            var cookie = cookie
            cookie.value = hidesCookies ? Redaction.placeholder : redaction.hidingValues(in: cookie.value)
            return cookie
        }
        guard let data = content.data else { return }
        let (size, comment) = (content.size, content.comment)
        content = HAR.Content(data, mimeType: content.mimeType, redaction)
        content.size = size
        content.comment = content.comment ?? comment
    }
}

extension HAR.PostData {
    mutating func hide(_ redaction: Redaction) {
        if let data { set(data, redaction) }
        params = params?
            .map { part in
                var part = part
                part.name = redaction.hidingValues(in: part.name)
                part.fileName = part.fileName.map(redaction.hidingValues)
                part.value = part.value.map { value in
                    if redaction.hidesBodyField(part.name) { return Redaction.placeholder }
                    let shown = redaction.body(Data(value.utf8), contentType: part.contentType ?? "text/plain")
                    return shown.flatMap { String(validating: $0, as: UTF8.self) } ?? Redaction.placeholder
                }
                return part
            }
    }
}

extension HAR {
    /// The items of a URL's query, decoded.
    static func queryItems(of url: String) -> [Field] {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = url.utf8[mark...].dropFirst().prefix { $0 != UInt8(ascii: "#") }
        return query.split(separator: UInt8(ascii: "&"))
            .map { piece in
                let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
                return Field(
                    name: PercentEncoding.decode(Substring(piece[..<equals])),
                    value: PercentEncoding.decode(Substring(piece[equals...].dropFirst()))
                )
            }
    }
}

extension Redaction {
    /// A URL that is still one: the placeholder is encoded.
    func url(_ url: String) -> String {
        reference(url).replacing("<", with: "%3C").replacing(">", with: "%3E")
    }

    /// A header field, its value replaced if that is hidden.
    func field(_ field: HAR.Field) -> HAR.Field {
        guard field.value != Redaction.placeholder else { return field }
        var shown = HAR.Field(name: hidingValues(in: field.name), value: field.value)
        guard let name = HTTPField.Name(field.name) else {
            // HTTP/2 has what stands before the fields as fields, and browsers write those down.
            shown.value =
                switch field.name {
                case ":path": target(field.value)
                case ":authority": authority(field.value)
                case ":method", ":scheme", ":status": hidingValues(in: field.value)
                default: Redaction.placeholder
                }
            return shown
        }
        let field = HTTPField(name: name, value: field.value)
        shown.value = hides(field) ? Redaction.placeholder : Redaction.singleLine(value(of: field))
        return shown
    }

    func hidesField(named name: String) -> Bool {
        HTTPField.Name(name).map { hides(HTTPField(name: $0, value: "")) } ?? true
    }
}
