# What relay/pdb_install.c sends to a worker: one Python source, compressed, made of these in this order.
set(PDB_AGENT_PARTS values evaluate breakpoints tracer stack adapter install)
list(TRANSFORM PDB_AGENT_PARTS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/relay/pdb_agent/\\1.py" OUTPUT_VARIABLE agent_files)
set(agent_c ${PROJECT_BINARY_DIR}/generated/pdb_agent.c)
add_executable(pdb_agent_pack cmake/pdb_agent_pack.c)
target_link_libraries(pdb_agent_pack PRIVATE ${zlib_LIBRARIES} ${openssl_LIBRARIES})
add_custom_command(
  OUTPUT ${agent_c}
  COMMAND pdb_agent_pack ${agent_c} ${agent_files}
  DEPENDS pdb_agent_pack ${agent_files}
  COMMENT "packing relay/pdb_agent"
  VERBATIM)
target_sources(relay PRIVATE ${agent_c})
