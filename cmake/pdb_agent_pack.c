/* Build-time tool: one Python source from several files, compressed and base64-coded, as C text.
 *   pdb_agent_pack OUT.c PART.py… */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { LIMIT = 1024 * 1024 };

static size_t read_parts(int count, char **paths, unsigned char *out)
{
    size_t len = 0;
    for (int i = 0; i < count; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (!file)
            return 0;
        len += fread(out + len, 1, LIMIT - len, file);
        fclose(file);
    }
    return len;
}

static int write_text(const char *path, const unsigned char *text)
{
    enum { LINE = 96 };
    FILE *out = fopen(path, "w");
    if (!out)
        return 1;
    fprintf(out, "#include \"relay/debuggee/pdb_install.h\"\n\nconst char pdb_agent[] =");
    for (size_t at = 0; text[at]; at++)
        fprintf(out, "%s%c%s", at % LINE ? "" : "\n    \"", text[at],
                at % LINE == LINE - 1 || !text[at + 1] ? "\"" : "");
    fprintf(out, ";\n");
    return fclose(out) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsigned char *source = malloc(LIMIT), *packed = malloc(2 * LIMIT), *text = malloc(4 * LIMIT);
    uLongf packed_len = 2 * LIMIT;
    if (argc < 3 || !source || !packed || !text)
        return 2;
    size_t len = read_parts(argc - 2, argv + 2, source);
    if (len == 0 || len == LIMIT || compress2(packed, &packed_len, source, len, 9) != Z_OK)
        return 1;
    EVP_EncodeBlock(text, packed, (int)packed_len);
    int rc = write_text(argv[1], text);
    free(source);
    free(packed);
    free(text);
    return rc;
}
